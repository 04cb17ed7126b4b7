/** Methods that run under a lock, in memory and with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('locked');
