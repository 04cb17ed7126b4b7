/** The behaviour of leases, in memory and with each client on one of the servers. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('leases');
