/** Turns the engine's assertions on, in every test. */
import { enableAssertions } from '../../src/engine/assertions.js';

enableAssertions(true);
