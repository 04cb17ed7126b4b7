/** The permits of a read-write lock: a reader takes one of them, and a writer takes all. */
export const RW_PERMITS: number = 2 ** 30;
