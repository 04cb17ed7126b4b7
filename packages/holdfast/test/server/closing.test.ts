/** Closing an instance, in memory and with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('closing');
