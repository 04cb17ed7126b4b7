/** The rights that `SECURITY.md` gives to a user: on one server, and those added on a cluster. */
export function rightsOf(guide: string): { single: string[]; cluster: string[] } {
  const words = (rule: RegExp): string[] => (rule.exec(guide)?.[1] ?? '').trim().split(/\s+/u);
  return {
    single: words(/ACL SETUSER locks on >PASSWORD ([^`]+)```/u),
    cluster: words(/ACL SETUSER locks (\+[^`]+)```/u),
  };
}
