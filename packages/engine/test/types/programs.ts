// Programs that use the library or the client, as text. In a wrong program, ‹ and › enclose what the editor must mark.

export const right: readonly string[] = [
  `const made = await database.createCollection({ name: 'a', fields: [{ name: 'v', type: 'vector', params: { dimension: 3 } }] })
   same<typeof made, Collection<{ readonly v: 'vector' }>>(true)`,
  `await database.createCollection(definition)`,
  `await database.createCollection({ name: 'a', fields: [{ name: 's', type: 'sparse' }] })`,
  `await database.createCollection({ name: 'a', fields: [{ name: 'v', type: 'vector', params: { dimension: 3, space_type: 'l2', ef_con: 99 } }] })`,
  `const any = await database.createCollection(parsed)
   await any.upsert([{ id: 'a', fields: { whatever: [1, 2] } }])`,
  `await films.upsert([{ id: 'a', fields: { plot: [1, 2, 3] } }])`,
  `await films.upsert([{ id: 'a', meta: { any: true }, filter: { year: 1979, tags: ['x'] }, fields: { plot: new Float32Array(3), words: { indices: [1], values: [0.5] }, frames: [[1, 2]] } }])`,
  `async function* source() { yield { id: 'a', fields: { plot: [1, 2, 3] } } }
   await films.upsert(source())`,
  `const { results } = await films.search({ fields: { plot: { query: [1, 2, 3], limit: 3 } } })
   for (const { id, similarity } of results.plot) console.log(id, similarity)`,
  `const { results } = await films.search({ fields: { words: { query: { indices: [1], values: [1] } }, frames: { query: [[1, 2]] } } })
   same<keyof typeof results, 'words' | 'frames'>(true)
   same<(typeof results.frames)[number]['vector'], undefined>(true)`,
  `await films.search({ fields: { plot: { query: { id: 'alien' } } }, fusion: { method: 'rrf', weights: { plot: 2 } } })`,
  `const { fused } = await typed.search({ fields: { plot: { query: [1, 2, 3] }, words: { query: { id: 'a' } } }, fusion: { method: 'rrf' } })
   for (const { hit, score, standings } of fused ?? []) console.log(hit.meta.title, score, standings.map(({ field }) => field === 'plot'))`,
  `const { explain } = await films.search({ fields: { plot: { query: [1, 2, 3] } }, exact: true, explain: true })
   console.log(explain?.fields.plot.plan, explain?.totalMs)`,
  `const { values } = await films.facets({ key: 'genre', limit: 5 })
   const page = await films.scroll({ includeVectors: false, cursor: undefined })
   console.log(values[0]?.count, page.cursor)`,
  `await films.search({ fields: { plot: { query: [1, 2, 3] } }, filter: [{ year: { $range: [1970, 1989] } }, { $or: [{ a: { $eq: 1 } }, { $not: { b: { $exists: true } } }] }] })`,
  `const [first, second] = await films.searchBatch([{ fields: { plot: { query: [1, 2, 3] } } }, { fields: { words: { query: { id: 'a' } }, frames: undefined } }])
   console.log(first?.results.plot?.[0]?.id, second?.results.words?.length)`,
  `await typed.upsert([{ id: 'a', meta: { title: 'Alien' }, fields: { plot: [1, 2, 3] } }])
   const { results } = await typed.search({ fields: { plot: { query: [1, 2, 3] } } })
   same<(typeof results.plot)[number]['meta'], Film>(true)`,
  `const film = await typed.get('alien')
   same<NonNullable<typeof film>['meta'], Film>(true)
   const vector: Float32Array | undefined = film?.dense.plot?.vector`,
  `await films.withMetadata<Film | undefined>().upsert([{ id: 'a', fields: { plot: [1, 2, 3] } }])`,
  `await byName.upsert([{ id: 'a', fields: { anything: [1, 2, 3] } }])
   const { results } = await byName.search({ fields: { anything: { query: [1, 2, 3] } } })
   console.log(results.anything.length)`,
  `const { results } = await byName.search({ fields: Object.fromEntries(names.map((name) => [name, { query: [1, 2] }])) })
   for (const hits of Object.values(results)) console.log(hits.length)`,
  `const count = async (collection: Collection) => await collection.count()
   console.log(await count(films), await count(byName))
   const countAny = async (collection: Collection<Fields, object | undefined>) => await collection.count()
   console.log(await countAny(films), await countAny(byName), await countAny(typed))`,
  `await films.rebuild({ plot: { M: 32 } })
   await films.recall({ field: 'frames' })
   console.log(await films.neighbors('plot', 'a'))`,
  `const filter: Filter = [{ year: { $gte: 1979 } }]
   await films.deleteWhere(filter)
   await films.updateFilters([{ id: 'a', filter: { year: 1980 } }])
   for (const { dense, sparse, multi } of (await films.scroll({ filter })).objects) console.log(dense.plot, sparse.words, multi.frames)`,
]

export const wrong: readonly string[] = [
  `await database.createCollection({ name: 'a', fields: [{ name: 'v', type: 'vector', params: { dimension: 3, ‹spaceTpye›: 'l2' } }] })`,
  `await database.createCollection({ name: 'a', fields: [{ name: 'v', ‹type›: 'vectr', params: { dimension: 3 } }] })`,
  `await database.createCollection({ name: 'a', fields: [{ name: 'v', type: 'vector', params: { dimension: 3, ‹precision›: 'int7' } }] })`,
  `await database.createCollection({ name: 'a', fields: [{ name: 's', type: 'sparse', params: { ‹pooling›: 'mean' } }] })`,
  `await database.createCollection({ name: 'a', ‹metadata›: true, fields: [{ name: 's', type: 'sparse' }] })`,
  `await films.upsert([{ id: 'a', fields: { ‹plto›: [1, 2, 3] } }])`,
  `await films.upsert([{ id: 'a', fields: { plot: { ‹indices›: [1], values: [1] } } }])`,
  `await films.upsert([{ id: 'a', fields: { ‹words›: [1, 2, 3] } }])`,
  `await films.upsert([{ id: 'a', ‹filtr›: { year: 1979 }, fields: { plot: [1, 2, 3] } }])`,
  `await films.search({ fields: { ‹plto›: { query: [1, 2, 3] } } })`,
  `await films.search({ fields: { words: { ‹query›: [1, 2, 3] } } })`,
  `await films.search({ fields: { plot: { query: [1, 2, 3], ‹limt›: 3 } } })`,
  `await films.search({ fields: { plot: { query: [1, 2, 3] } }, ‹includeVector›: true })`,
  `await films.search({ fields: { plot: { query: [1, 2, 3] } }, filter: [{ year: { ‹$range›: [1970] } }] })`,
  `await films.search({ fields: { plot: { query: [1, 2, 3] } }, fusion: { method: 'rrf', weights: { ‹words›: 1 } } })`,
  `const { results } = await films.search({ fields: { plot: { query: [1, 2, 3] } } })
   console.log(results.‹words›)`,
  `await typed.upsert([{ id: 'a', meta: { ‹titel›: 'Alien' }, fields: { plot: [1, 2, 3] } }])`,
  `const film = await typed.get('alien')
   console.log(film?.meta.‹director›)`,
  `await films.rebuild({ ‹words›: { M: 32 } })`,
  `await films.recall({ ‹field›: 'words' })`,
  `await films.neighbors(‹'plto'›, 'a')`,
  `await films.scroll({ ‹limt›: 5 })`,
  `await films.deleteWhere([{ year: { ‹$greater›: 5 } }])`,
  `const film = await films.get('alien')
   console.log(film?.sparse.‹plot›)`,
]
