/**
 * Holdfast on etcd: `new Holdfast(etcd('http://127.0.0.1:2379'))`.
 */
import type { HoldfastStore } from 'holdfast';
import { register } from 'holdfast/register';
import { EtcdRegister } from './etcd-register.js';
import { endpointsOf, type EtcdOptions, settingsOf } from './options.js';

export type { EtcdOptions } from './options.js';
export type { FetchFunction, FetchInit, FetchResponse } from './transport.js';

/**
 * The store on etcd 3.4 or newer, over its JSON gateway, for `new Holdfast`.
 *
 * @param endpoints the URL of each member; all processes list the same ones
 * @throws HOLDFAST_BAD_OPTION if a URL or an option is not valid
 */
export function etcd(
  endpoints: string | readonly string[],
  options: EtcdOptions = {},
): HoldfastStore {
  return register(new EtcdRegister(endpointsOf(endpoints), settingsOf(options)));
}
