import type { Store } from '../port.js';

export interface Layer extends Pick<Store, 'execute'> {
  close(): Promise<void>;
}

export function loadedLater(base: Store, opening: Promise<Layer>): Store {
  const { shardOf } = base;
  return {
    label: base.label,
    // the commands follow in a later promise job
    writesLater: true,
    ...(shardOf && { shardOf }),
    execute(batch) {
      const answers = opening.then((layer) => layer.execute(batch));
      return batch.map(async (_, at) => (await answers)[at] as never);
    },
    listen: (name, listener) => base.listen(name, listener),
    keys: (pattern, within) => base.keys(pattern, within),
    unanswered: (command) => base.unanswered?.(command),
    trouble: () => base.trouble?.(),
    blockedBy: () => base.blockedBy?.(),
    dispose: async () => (await opening).close(),
    ...(base.examine && { examine: (terms) => base.examine?.(terms) as never }),
  };
}
