// How vectors are made of texts: a function that the host program passes.

/** What a call is for. Some models make other vectors for texts that are stored than for texts that are searched. */
export type EmbedPurpose = 'store' | 'query'

/** What a function that makes vectors gets besides the texts. */
export interface EmbedRequest {
  readonly purpose: EmbedPurpose
  /** The model of the field; undefined if neither the definition nor the provider named one. */
  readonly model: string | undefined
  /** Number of components of each vector. */
  readonly dimension: number
}

/**
 * Makes one vector of each text, in their order. An error in the place of a vector says why that text has none. A rejection is an error of
 * every text. An EngineError keeps its code, and any other error becomes `embedding_failed` with its message, which callers see.
 */
export type EmbedFunction = (
  texts: readonly string[],
  request: EmbedRequest,
) => Promise<readonly (ArrayLike<number> | Error)[]>

/** A function, and what is known about its vectors. */
export interface EmbedProvider {
  readonly embed: EmbedFunction
  /** Kept in the definition of new collections. A field of another model refuses texts. */
  readonly model?: string | undefined
  /** A field of another dimension is refused. */
  readonly dimension?: number | undefined
}

/** A provider of an engine, without its function. */
export interface ProviderInfo {
  /** Name of the provider, for `embed.provider` of a field. */
  readonly name: string
  /** Undefined if the host program did not name one. */
  readonly model: string | undefined
  /** Number of components of each vector; undefined if the host program did not say. */
  readonly dimension: number | undefined
}
