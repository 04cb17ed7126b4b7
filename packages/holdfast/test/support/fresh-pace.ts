/** Each test file measures the pace of the machine anew: workers run many files for minutes. */
import { forgetPace } from 'holdfast-testkit';

forgetPace();
