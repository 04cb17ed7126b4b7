/** The behaviour of leases, in memory and with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('leases');
