// What the providers expect and reply. `openai` is also the form of Ollama, vLLM, TEI, LM Studio, and many hosted services.

import type { EmbedPurpose } from '@annal/engine'
import { isObject } from '../json-object.ts'

export const providerKinds = ['openai', 'cohere', 'voyage'] as const
export type ProviderKind = (typeof providerKinds)[number]

/** What a call asks for. */
export interface EmbedCall {
  readonly model: string
  readonly texts: readonly string[]
  readonly purpose: EmbedPurpose
  /** Undefined: it is not sent. */
  readonly dimension: number | undefined
}

interface Shape {
  body(call: EmbedCall): unknown
  /** The vectors in a reply, in the order of the texts; undefined if it has none. Their form is not checked. */
  vectors(reply: { readonly [key: string]: unknown }): readonly unknown[] | undefined
}

/** The form of each kind of provider. */
export const shapes: { readonly [K in ProviderKind]: Shape } = {
  openai: {
    body: ({ model, texts, dimension }) => ({
      model,
      input: texts,
      encoding_format: 'float',
      ...(dimension !== undefined && { dimensions: dimension }),
    }),
    vectors: ({ data }) => inOrder(data),
  },
  cohere: {
    body: ({ model, texts, purpose, dimension }) => ({
      model,
      texts,
      input_type: purpose === 'query' ? 'search_query' : 'search_document',
      embedding_types: ['float'],
      ...(dimension !== undefined && { output_dimension: dimension }),
    }),
    vectors: ({ embeddings }) => {
      if (Array.isArray(embeddings)) return embeddings
      return isObject(embeddings) && Array.isArray(embeddings.float) ? embeddings.float : undefined
    },
  },
  voyage: {
    body: ({ model, texts, purpose, dimension }) => ({
      model,
      input: texts,
      input_type: purpose === 'query' ? 'query' : 'document',
      ...(dimension !== undefined && { output_dimension: dimension }),
    }),
    vectors: ({ data }) => inOrder(data),
  },
}

/** `[{index, embedding}]` by index. Without indices, the order is that of the texts. */
function inOrder(data: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(data) || !data.every(isObject)) return undefined
  if (data.every(({ index }) => index === undefined)) return data.map(({ embedding }) => embedding)
  const byIndex = new Map(data.map(({ index, embedding }) => [index, embedding]))
  const ordered = data.map((_, i) => byIndex.get(i))
  return byIndex.size === data.length && ordered.every((one) => one !== undefined) ? ordered : undefined
}
