/** Several locks acquired together, in memory and with every client and server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('all-of');
