// Whether more is offered than carried is for fabricd to say; the page repeats its sentence, and is nowhere green meanwhile.

import type { Sample } from '../net/types'

export function overloaded(store: { readonly sample: Sample | null | undefined }): string {
  return store.sample?.overload ?? ''
}
