/** The behaviour of the read-write lock, in memory and with every client and server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('rw-lock');
