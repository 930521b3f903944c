// A collection as LangChain's vector store. The text and metadata of a document are stored as meta, {"text", "metadata"}; metadata
// values that a filter can test are also stored as filter values. annal.langchain in the Python client stores the same form.
import {
  AnnalError,
  type Client,
  type Collection,
  type Filter,
  filterValuesOf,
  type JsonObject,
  type ObjectInput,
  type Precision,
  type SpaceType,
} from '@annal/client'
import { Document, type DocumentInterface } from '@langchain/core/documents'
import type { EmbeddingsInterface } from '@langchain/core/embeddings'
import { maximalMarginalRelevance } from '@langchain/core/utils/math'
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from '@langchain/core/vectorstores'

/** The collection of a vector store, and how it is created. */
export interface AnnalVectorStoreOptions {
  readonly client: Client
  /** Created with the first documents if it does not exist. */
  readonly collection: string
  /** The dense field of the collection; default `dense`. */
  readonly field?: string
  /** The distance of a new collection; default cosine. */
  readonly spaceType?: SpaceType
  /** The precision of a new collection; default int8. */
  readonly precision?: Precision
}

/** The documents to delete: by id, or those that match a filter. */
export type DeleteOptions = { readonly ids: readonly string[] } | { readonly filter: Filter }

/** A collection as vector store of LangChain.js. Calls fail with `AnnalError`. */
export class AnnalVectorStore extends VectorStore {
  declare FilterType: Filter
  readonly #options: AnnalVectorStoreOptions
  readonly #collection: Collection
  readonly #field: string
  #there: Promise<void> | undefined

  constructor(embeddings: EmbeddingsInterface, options: AnnalVectorStoreOptions) {
    // LangChain serializes constructor arguments with a chain; a client cannot be serialized.
    super(embeddings, {})
    this.#options = options
    this.#collection = options.client.collection(options.collection)
    this.#field = options.field ?? 'dense'
  }

  override _vectorstoreType(): string {
    return 'annal'
  }

  /** Uses the given ids, the ids of the documents, or new ids. A document with an existing id replaces the stored one. */
  override async addDocuments(
    documents: DocumentInterface[],
    options?: { readonly ids?: string[] },
  ): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent))
    return this.addVectors(vectors, documents, options)
  }

  /** Stores documents with vectors that were computed before. The first call creates the collection if it does not exist, with the dimension of these vectors. */
  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { readonly ids?: string[] } = {},
  ): Promise<string[]> {
    const { ids } = options
    if (vectors.length !== documents.length || (ids !== undefined && ids.length !== documents.length)) {
      throw new AnnalError(
        'invalid_argument',
        `${documents.length} documents, ${vectors.length} vectors and ${ids?.length ?? 'no'} ids do not match`,
      )
    }
    const dimension = vectors[0]?.length
    if (dimension === undefined) return []
    await this.#ensureCollection(dimension)
    const objects = documents.map((document, i) => this.#objectOf(document, vectors[i] ?? [], ids?.[i]))
    // One call after the other, so that an id that occurs twice keeps its last document.
    await this.#collection.load(objects, { concurrency: 1 })
    return objects.map(({ id }) => id)
  }

  #objectOf(
    { id, pageContent: text, metadata }: DocumentInterface,
    vector: number[],
    givenId: string | undefined,
  ): ObjectInput {
    return {
      id: givenId ?? id ?? globalThis.crypto.randomUUID(),
      meta: { text, metadata },
      filter: filterValuesOf(metadata),
      fields: { [this.#field]: vector },
    }
  }

  /** Checked once; another store may create the collection at the same moment. */
  #ensureCollection(dimension: number): Promise<void> {
    this.#there ??= this.#makeCollection(dimension).catch((error: unknown) => {
      this.#there = undefined
      throw error
    })
    return this.#there
  }

  async #makeCollection(dimension: number): Promise<void> {
    const { client, collection: name, spaceType = 'cosine', precision = 'int8' } = this.#options
    try {
      await this.#collection.describe()
    } catch (error) {
      if (!isRefusal(error, 'collection_not_found')) throw error
      const params = { dimension, spaceType, precision }
      await client
        .createCollection({ name, fields: [{ name: this.#field, type: 'vector', params }] })
        .catch((failure) => {
          if (!isRefusal(failure, 'collection_exists')) throw failure
        })
    }
  }

  /** Higher is more similar, for every distance of the field. */
  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: Filter,
  ): Promise<[Document, number][]> {
    const hits = await this.#hits(query, { k, filter, includeVectors: false })
    return hits.map((hit) => [documentOf(hit), hit.similarity])
  }

  /** Chooses k of the `fetchK` most similar documents (default: 20, or k if it is larger) that differ from each other; `lambda` 1 ignores differences, 0 similarity (default 0.5). */
  override async maxMarginalRelevanceSearch(
    query: string,
    options: MaxMarginalRelevanceSearchOptions<Filter>,
  ): Promise<Document[]> {
    const { k, fetchK = Math.max(20, k), lambda = 0.5, filter } = options
    const vector = await this.embeddings.embedQuery(query)
    const hits = await this.#hits(vector, { k: fetchK, filter, includeVectors: true })
    const vectors = hits.map((hit) => Array.from(hit.vector ?? []))
    return maximalMarginalRelevance(vector, vectors, lambda, k).flatMap((i) => {
      const hit = hits[i]
      return hit === undefined ? [] : [documentOf(hit)]
    })
  }

  async #hits(
    query: number[],
    {
      k,
      filter,
      includeVectors,
    }: { readonly k: number; readonly filter: Filter | undefined; readonly includeVectors: boolean },
  ) {
    const { results } = await this.#collection.search({
      fields: { [this.#field]: { query, limit: k } },
      filter,
      includeVectors,
    })
    return results[this.#field] ?? []
  }

  /** The stored documents, in the order of the ids. */
  async getByIds(ids: readonly string[]): Promise<Document[]> {
    return (await this.#collection.getMany(ids)).map(documentOf)
  }

  /** The documents with these ids, or all that a filter matches. */
  override async delete(options: DeleteOptions): Promise<void> {
    if ('filter' in options) {
      await this.#collection.deleteWhere(options.filter)
      return
    }
    for (const id of options.ids) await this.#collection.delete(id)
  }

  /** A store with these texts. `metadatas` is one object for all texts, or one for each. */
  static override async fromTexts(
    texts: string[],
    metadatas: object[] | object,
    embeddings: EmbeddingsInterface,
    options: AnnalVectorStoreOptions,
  ): Promise<AnnalVectorStore> {
    const documents = texts.map(
      (pageContent, i) =>
        new Document({ pageContent, metadata: { ...(Array.isArray(metadatas) ? metadatas[i] : metadatas) } }),
    )
    return AnnalVectorStore.fromDocuments(documents, embeddings, options)
  }

  /** A store with these documents. */
  static override async fromDocuments(
    documents: DocumentInterface[],
    embeddings: EmbeddingsInterface,
    options: AnnalVectorStoreOptions,
  ): Promise<AnnalVectorStore> {
    const store = new AnnalVectorStore(embeddings, options)
    await store.addDocuments(documents)
    return store
  }
}

function isRefusal(error: unknown, code: string): boolean {
  return error instanceof AnnalError && error.code === code
}

/** Objects written by other programs have other meta; then all of it becomes metadata. */
function documentOf({ id, meta }: { readonly id: string; readonly meta: JsonObject | undefined }): Document {
  if (meta === undefined) return new Document({ id, pageContent: '' })
  const { text, metadata } = meta
  const ours = typeof text === 'string' && metadata !== null && typeof metadata === 'object' && !Array.isArray(metadata)
  return new Document({
    id,
    pageContent: typeof text === 'string' ? text : '',
    metadata: { ...(ours ? metadata : meta) },
  })
}
