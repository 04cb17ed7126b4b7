/** Enables the engine's assertions in every test. */
import { enableAssertions } from '../../src/engine/assertions.js';

enableAssertions(true);
