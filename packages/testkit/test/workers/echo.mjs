// says that it is ready, then says everything back; two things it does on demand
/** @param {{ type: string }} message */
function answer(message) {
  if (message.type === 'die') process.exit(3);
  if (message.type === 'fail') throw new Error('as it was told');
  process.send?.({ ...message, args: process.argv.slice(2), mood: process.env['MOOD'] });
}

process.on('message', (message) => answer(/** @type {{ type: string }} */ (message)));
process.send?.({ type: 'ready' });
