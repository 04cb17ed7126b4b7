/** The behaviour of inspection, in memory and with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('inspection');
