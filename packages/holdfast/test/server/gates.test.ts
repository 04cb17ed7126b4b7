/** Latches and barriers, in memory and with the newest clients on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('gates');
