// A collection as LangChain's vector store. A document's text and metadata are kept as meta, {"text", "metadata"}; what of the metadata a
// filter can ask for is filter values too. The Python client's annal.langchain keeps the same.
import {
  AnnalError,
  type Client,
  type Collection,
  type Filter,
  filterValuesOf,
  type JsonObject,
  type ObjectRecord,
  type Precision,
  type SpaceType,
} from '@annal/client'
import { Document, type DocumentInterface } from '@langchain/core/documents'
import type { EmbeddingsInterface } from '@langchain/core/embeddings'
import { maximalMarginalRelevance } from '@langchain/core/utils/math'
import { type MaxMarginalRelevanceSearchOptions, VectorStore } from '@langchain/core/vectorstores'

export interface AnnalVectorStoreOptions {
  readonly client: Client
  /** Made with the first documents when it is not there. */
  readonly collection: string
  /** The dense field of the collection; default `dense`. */
  readonly field?: string
  /** Of a collection that has to be made; default cosine. */
  readonly spaceType?: SpaceType
  /** Of a collection that has to be made; default int8. */
  readonly precision?: Precision
}

export type DeleteOptions = { readonly ids: readonly string[] } | { readonly filter: Filter }

export class AnnalVectorStore extends VectorStore {
  declare FilterType: Filter
  readonly #options: AnnalVectorStoreOptions
  readonly #collection: Collection
  readonly #field: string
  #there: Promise<void> | undefined

  constructor(embeddings: EmbeddingsInterface, options: AnnalVectorStoreOptions) {
    // LangChain writes constructor arguments down when a chain is serialised; a client is no such thing.
    super(embeddings, {})
    this.#options = options
    this.#collection = options.client.collection(options.collection)
    this.#field = options.field ?? 'dense'
  }

  override _vectorstoreType(): string {
    return 'annal'
  }

  /** Ids are those given, or the documents' own, or new ones; a document whose id is there already replaces the one before it. */
  override async addDocuments(
    documents: DocumentInterface[],
    options?: { readonly ids?: string[] },
  ): Promise<string[]> {
    const vectors = await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent))
    return this.addVectors(vectors, documents, options)
  }

  override async addVectors(
    vectors: number[][],
    documents: DocumentInterface[],
    options: { readonly ids?: string[] } = {},
  ): Promise<string[]> {
    const { ids } = options
    if (vectors.length !== documents.length || (ids !== undefined && ids.length !== documents.length)) {
      throw new AnnalError(
        'invalid_argument',
        `${documents.length} documents, ${vectors.length} vectors and ${ids?.length ?? 'no'} ids do not belong together`,
      )
    }
    const dimension = vectors[0]?.length
    if (dimension === undefined) return []
    await this.#ensureCollection(dimension)
    const objects = documents.map((document, i) => this.#objectOf(document, vectors[i] ?? [], ids?.[i]))
    // One call after the other: an id that comes twice keeps its last document.
    await this.#collection.load(objects, { concurrency: 1 })
    return objects.map(({ id }) => id)
  }

  #objectOf(
    { id, pageContent: text, metadata }: DocumentInterface,
    vector: number[],
    givenId: string | undefined,
  ): ObjectRecord {
    return {
      id: givenId ?? id ?? globalThis.crypto.randomUUID(),
      meta: { text, metadata },
      filter: filterValuesOf(metadata),
      fields: { [this.#field]: vector },
    }
  }

  /** Asked for once; a second store may make the collection at the same moment. */
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
      const params = { dimension, space_type: spaceType, precision }
      await client
        .createCollection({ name, fields: [{ name: this.#field, type: 'vector', params }] })
        .catch((failure) => {
          if (!isRefusal(failure, 'collection_exists')) throw failure
        })
    }
  }

  /** Higher is more similar, whatever the space type of the field. */
  override async similaritySearchVectorWithScore(
    query: number[],
    k: number,
    filter?: Filter,
  ): Promise<[Document, number][]> {
    const hits = await this.#hits(query, { k, filter, includeVectors: false })
    return hits.map((hit) => [documentOf(hit), hit.similarity])
  }

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

  /** The documents found, in the order asked. */
  async getByIds(ids: readonly string[]): Promise<Document[]> {
    return (await this.#collection.getMany(ids)).map(documentOf)
  }

  /** By ids, those that are there; or everything that a filter matches. */
  override async delete(options: DeleteOptions): Promise<void> {
    if ('filter' in options) {
      await this.#collection.deleteWhere(options.filter)
      return
    }
    for (const id of options.ids) await this.#collection.delete(id)
  }

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

/** Objects that others stored have meta of their own: all of it is metadata then. */
function documentOf({ id, meta }: { readonly id: string; readonly meta: JsonObject | Uint8Array }): Document {
  if (meta instanceof Uint8Array) return new Document({ id, pageContent: '' })
  const { text, metadata } = meta
  const ours = typeof text === 'string' && metadata !== null && typeof metadata === 'object' && !Array.isArray(metadata)
  return new Document({
    id,
    pageContent: typeof text === 'string' ? text : '',
    metadata: { ...(ours ? metadata : meta) },
  })
}
