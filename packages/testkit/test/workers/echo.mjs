// sends `ready`, then echoes each message; exits on `die` and throws on `fail`
/** @param {{ type: string }} message */
function answer(message) {
  if (message.type === 'die') process.exit(3);
  if (message.type === 'fail') throw new Error('failed on request');
  process.send?.({ ...message, args: process.argv.slice(2), mood: process.env['MOOD'] });
}

process.on('message', (message) => answer(/** @type {{ type: string }} */ (message)));
process.send?.({ type: 'ready' });
