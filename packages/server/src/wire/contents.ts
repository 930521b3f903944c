// The keys with which the body of a read chooses the values that its objects have: vectors and sparse terms, texts.
import type { ContentOptions } from '@annal/engine'
import { optionalBoolean } from './schema.ts'

export const contentOptions = {
  include_vectors: optionalBoolean('Default true. If false, objects have no vectors and no sparse terms.'),
  include_texts: optionalBoolean(
    'Whether objects have their texts; default: as include_vectors. Without both, objects have only id, meta, and filter.',
  ),
}

interface ContentKeys {
  readonly include_vectors?: boolean | null
  readonly include_texts?: boolean | null
}

export function readContents({ include_vectors: vectors, include_texts: texts }: ContentKeys): ContentOptions {
  return {
    ...(vectors == null ? {} : { includeVectors: vectors }),
    ...(texts == null ? {} : { includeTexts: texts }),
  }
}
