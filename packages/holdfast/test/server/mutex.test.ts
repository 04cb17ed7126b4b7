/** The behaviour of the mutex, with every client on every server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('mutex');
