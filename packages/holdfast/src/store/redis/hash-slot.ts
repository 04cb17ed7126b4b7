/** The slots of keys. The client of a cluster needs them too, and imports nothing of the store. */
export { slotOf } from '../clients/hash-slot.js';
