/** The behaviour of conditions, with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('condition');
