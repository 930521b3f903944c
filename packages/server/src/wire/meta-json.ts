// The meta of an object in a JSON reply.
import type { MetaBudget } from '@annal/engine/reader'

/**
 * Meta that is not JSON is returned as base64, because JSON has no bytes. So is meta that would exceed a limit when decompressed;
 * the reply then names the limit.
 */
export function metaJson({ metaBytes }: { readonly metaBytes: Uint8Array }, metas: MetaBudget) {
  const read = metas.read(metaBytes)
  if (read.meta !== undefined) return { meta: read.meta }
  const base64 = Buffer.from(metaBytes).toString('base64')
  return { meta_base64: base64, ...(read.limit && { meta_limit: read.limit }) }
}
