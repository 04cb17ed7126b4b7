/** Texts after the options in the help of the commands. */

const CODES = `Exit codes: that of the command, 128+n if signal n ended it, or
  64 wrong use   69 server unreachable   70 lock lost   75 not acquired   77 access denied
  126 the command cannot be executed     127 the command was not found`;

export const MAIN_HELP: string = `
Examples:
  holdfast run backup -- pg_dump -f /backup/db.sql db
  holdfast once report --at-least 5m -- ./report.sh
  holdfast lead importer -- ./importer
  holdfast ls 'invoice:*' --url postgres://user@host/database

Each command has its own help: holdfast run --help`;

export const RUN_HELP: string = `
Examples:
  holdfast run backup -- pg_dump -f /backup/db.sql db
  holdfast run deploy --wait 10m --verbose -- ./deploy.sh --force
  holdfast run report --no-wait -E 0 -- ./report.sh       # skip if it already runs
  holdfast run gpu --permits 2/8 -- ./train.sh            # two of eight permits
  holdfast run catalogue --shared -- ./read.sh            # readers share, --exclusive writes

${CODES}

The command sees HOLDFAST_KEY, HOLDFAST_FENCE and HOLDFAST_DEADLINE (ms since 1970).`;

export const ONCE_HELP: string = `
Examples, in the crontab of every machine:
  0 2 * * *  holdfast once report --at-least 5m -- /opt/report.sh
  0 2 * * *  holdfast once report --at-least 1m --slot "$(date +\\%F)" -- /opt/report.sh

${CODES}
  A machine that skips the job exits with 0; -E chooses another code.`;

export const LEAD_HELP: string = `
Examples:
  holdfast lead importer -- ./importer
  holdfast lead importer --http 4040 -- ./importer        # curl localhost:4040/events

${CODES}
  If the lock is lost, the command is ended, and holdfast stands again.`;

export const LS_HELP: string = `
Examples:
  holdfast ls
  holdfast ls 'invoice:*' --json | jq -r .key
  holdfast ls 'invoice:*' --count`;

export const INSPECT_HELP: string = `
Examples:
  holdfast inspect invoice:42
  holdfast inspect invoice:42 --json | jq '.holders[0].host'     # null if it is free`;

export const WATCH_HELP: string = `
Examples:
  holdfast watch
  holdfast watch 'invoice:*' --every 5s

GRANTS counts how often the lock was seen to be granted again. Ctrl-C ends.`;

export const DASHBOARD_HELP: string = `
Examples:
  holdfast dashboard
  holdfast dashboard --port 8080 --write

It prints a URL with a token, and answers this machine only, and only with this token. From another
machine use a tunnel, for example ssh -L 4650:127.0.0.1:4650.
Ctrl-C ends.`;

export const BREAK_HELP: string = `
Examples:
  holdfast break invoice:42 --reason 'stuck since 02:00'
  holdfast break invoice:42 --yes

The holder notices the loss at once or at its next renewal, and the next waiter starts at once. Both
can work at the same time until then, so end the holder's process first if you can.`;

export const WAIT_HELP: string = `
Examples:
  holdfast wait migration --wait 5m && ./start.sh

Takes nothing: another program may take the lock before yours. Exit codes: 0 free, 75 not free.`;

export const DOCTOR_HELP: string = `
Examples:
  holdfast doctor
  holdfast doctor --url redis+cluster://node1,node2 --ttl 30s
  holdfast doctor --json | jq -r '.findings[] | .code'
  holdfast doctor --strict || exit 1                      # in CI: notices count too

Examines the server, each master of a cluster or each member of a quorum; or the database, the file
or etcd. It writes only keys of its own, and removes them.

Exit codes: 0 nothing found, 1 a danger or a warning, 69 server unreachable.`;

export const PLAN_HELP: string = `
Examples:
  holdfast plan --processes 50 --rate 2k --hold 20ms --contended 5%
  holdfast plan --processes 200 --locks 100k --ttl 30s
  holdfast plan --processes 1k --waiters 1k --locks 1         # all wait for one lock
  holdfast plan --topology quorum --processes 50 --rate 500 --hold 5s --json | jq '.limits[0]'

For Redis and Valkey. Asks no server: it computes with costs that were measured, so the times of
another processor differ, and those of a machine with other work are up to twice as long. The
formulas are in docs/scale.md of the repository.`;

export const COMPLETION_HELP: string = `
Examples:
  eval "$(holdfast completion bash)"            # in ~/.bashrc
  eval "$(holdfast completion zsh)"             # in ~/.zshrc, after compinit
  holdfast completion fish | source             # in ~/.config/fish/config.fish`;
