/** `holdfast doctor`. */
import type { DoctorReport } from 'holdfast';
import { EXIT } from '../failure.js';
import type { CommonOptions } from '../options.js';
import { doctorReport } from '../view/doctor.js';
import { goOnWithoutReader, print } from '../view/output.js';
import { withStore } from './look.js';
import { json as toJson } from '../view/words.js';

export interface DoctorOptions extends CommonOptions {
  readonly ttl: number;
  readonly claimWindow: number;
  readonly strict?: boolean;
}

/** `retention` must be at least three times the claim window. */
const RETENTION_MIN = 60_000;

export async function doctor(options: DoctorOptions): Promise<number> {
  const { claimWindow, ttl } = options;
  const settings = { claimWindow, ttl, retention: Math.max(RETENTION_MIN, 3 * claimWindow) };
  goOnWithoutReader();
  const report = await withStore(options, (holdfast) => holdfast.doctor(), settings);
  print(options.json === true ? toJson(report) : doctorReport(report));
  return counts(report, options.strict === true) ? EXIT.found : 0;
}

function counts({ findings }: DoctorReport, strict: boolean): boolean {
  return findings.some(({ severity }) => strict || severity !== 'notice');
}
