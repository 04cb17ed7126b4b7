/** The slots of keys, which the client of a cluster needs too. */
export { slotOf } from '../clients/hash-slot.js';
