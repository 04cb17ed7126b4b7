/** Asks one server, measures it, and collects findings. */
import type { ServerLink } from '../../clients/admin.js';
import type { ClientPort } from '../../clients/port.js';
import { printable } from '../../../base/text.js';
import type { ExamineTerms, Finding, FindingCode, FindingSeverity } from '../../finding.js';
import { adviceForCode, isMissingRight } from '../advice.js';
import { notQueued } from '../codec.js';
import { nextProof } from '../proven-port.js';
import { PROBE } from '../../clients/scan.js';

export interface Deployment {
  readonly ports: readonly ClientPort[];
  readonly prefix: string;
  readonly quorum?: {
    readonly timeout: number;
    readonly guard: number;
    readonly durable: boolean;
  };
}

/** The server is silent, or refuses all commands. */
export class Unusable extends Error {}

export interface Found {
  readonly code: FindingCode;
  readonly severity: FindingSeverity;
  readonly message: string;
  readonly evidence: string;
  readonly advice: string;
}

export class Probe {
  readonly findings: Finding[] = [];
  readonly port: ClientPort;
  readonly link: ServerLink;
  readonly deployment: Deployment;
  readonly terms: ExamineTerms;

  constructor(deployment: Deployment, port: ClientPort, link: ServerLink, terms: ExamineTerms) {
    this.deployment = deployment;
    this.port = port;
    this.link = link;
    this.terms = terms;
  }

  add(found: Found): void {
    const evidence = printable(found.evidence);
    this.findings.push({ ...found, evidence, server: this.link.address });
  }

  /**
   * Sends a command that only looks. `undefined`, with a finding, if the server refuses it.
   * @param right that the user needs
   * @param what is not known without it
   */
  async look(words: readonly string[], right: string, what: string): Promise<unknown> {
    try {
      return await this.answer(this.link.command(words));
    } catch (error) {
      const evidence = this.refusal(error);
      const message = `the doctor could not read ${what}`;
      const advice = isMissingRight(evidence)
        ? `give the user of the client the right ${right}, for this examination at least`
        : `read it by another way: this server has no ${words.slice(0, 2).join(' ')}`;
      this.add({ code: 'could-not-look', severity: 'notice', message, evidence, advice });
      return undefined;
    }
  }

  /** The text of an error reply. Throws `Unusable` without a reply. */
  refusal(error: unknown): string {
    if (error instanceof Unusable) throw error;
    const text = error instanceof Error ? error.message : String(error);
    // for a client, a refused INFO belongs to its own login
    if (this.port.isReply(error) || isMissingRight(text)) return text;
    throw new Unusable(this.port.state()?.text ?? text);
  }

  answer<T>(answer: Promise<T>): Promise<T> {
    return limited(answer, this.port, this.terms);
  }

  async isInStep(): Promise<boolean> {
    const proof = nextProof();
    const sent = this.answer(this.link.command(['EVAL', PROBE, '0', proof]));
    return (await sent.catch((error: unknown) => this.refusal(error) && proof)) === proof;
  }

  unusable(reason: string): void {
    this.add({
      code: 'unreachable',
      severity: 'danger',
      message: 'the server cannot be used, so it was not examined further',
      evidence: reason,
      advice: adviceForCode(reason) ?? 'check the address, the network, the login and the server',
    });
  }
}

/** Rejects with `Unusable` after the time limit of a request. */
export function limited<T>(
  answer: Promise<T>,
  port: ClientPort,
  { clock, requestTimeout }: ExamineTerms,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(requestTimeout, () => {
      reject(new Unusable(port.state()?.text ?? `no answer within ${requestTimeout} ms`));
    });
    answer
      .then((raw) => resolve(notQueued(raw) as T))
      .catch((error: unknown) => {
        reject(error instanceof Error ? error : new Error(String(error)));
      })
      .finally(() => timer.cancel())
      .catch(() => undefined);
  });
}
