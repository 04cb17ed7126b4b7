/** The live view and the gauges, in memory and with the newest clients on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('views');
