/** The behaviour of the semaphore, in memory and with every client and server. */
import { suiteOnServers } from '../support/registrations.js';

suiteOnServers('semaphore');
