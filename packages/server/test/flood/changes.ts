// The clients of a flood that change what searches read.
import { choicesFrom } from '../differential/choices.ts'
import { type Flood, fields, objects, withoutRebuild } from './flood.ts'
import { History } from './histories.ts'
import { filterOf, objectOf, vectorOf } from './objects.ts'
import { searchBody } from './searches.ts'
import { eventually, expect, type Send } from './sender.ts'

/** Objects of even numbers are replaced and deleted here; the filters of the others change. */
export async function changeObjects(flood: Flood, send: Send, own: number): Promise<void> {
  const choices = choicesFrom(own)
  for (let version = 2; !flood.isOver; version++) {
    const chosen = Array.from({ length: objects / 2 }, (_, i) => 2 * i).filter(() => choices.chance(0.2))
    if (choices.chance(0.25) && chosen[0] !== undefined) {
      const { version: before } = flood.objects[chosen[0]]!.latest
      const acknowledge = flood.objects[chosen[0]]!.change({ isStored: false, version: before, change: 0 })
      await expect(send('DELETE', `/collection/changing/objects/o${chosen[0]}`), [200, 404])
      acknowledge()
    } else if (chosen.length > 0) {
      const acknowledge = chosen.map((i) => flood.objects[i]!.change({ isStored: true, version, change: 0 }))
      await expect(send('POST', '/collection/changing/objects', { objects: chosen.map((i) => objectOf(i, version)) }))
      for (const one of acknowledge) one()
    }
    flood.count('changes of objects')
  }
}

export async function changeFilters(flood: Flood, send: Send, own: number): Promise<void> {
  const choices = choicesFrom(own)
  for (let change = 1; !flood.isOver; change++) {
    const chosen = Array.from({ length: objects / 2 }, (_, i) => 2 * i + 1).filter(() => choices.chance(0.1))
    if (chosen.length === 0) continue
    const updates = chosen.map((i) => ({ id: `o${i}`, filter: filterOf(1, change) }))
    const acknowledge = chosen.map((i) => flood.objects[i]!.change({ isStored: true, version: 1, change }))
    await expect(send('POST', '/collection/changing/filters', { updates }))
    for (const one of acknowledge) one()
    flood.count('changes of filters')
  }
}

/** Large enough that the memories of ids and records are replaced by larger ones several times. */
const grownMost = 6_000

/** A collection that grows, and is deleted and created again when it is large. The version of its objects is its generation. */
export async function growCollection(flood: Flood, send: Send): Promise<void> {
  const batch = 60
  for (; !flood.isOver; flood.count('batches of new objects')) {
    const { generation, grown } = flood.growing
    if (grown >= grownMost) {
      flood.growing = { generation: generation + 1, grown: 0, isComplete: false }
      await withoutRebuild(flood, async () => {
        await expect(send('DELETE', '/collection/growing'))
        await expect(send('POST', '/collection', { name: 'growing', fields }))
      })
      flood.growing = { generation: generation + 1, grown: 0, isComplete: true }
      flood.count('large collections deleted')
      continue
    }
    await expect(
      send('POST', '/collection/growing/objects', {
        objects: Array.from({ length: batch }, (_, i) => objectOf(grown + i, generation)),
      }),
    )
    flood.growing = { generation, grown: grown + batch, isComplete: true }
  }
}

export async function passCollections(flood: Flood, send: Send): Promise<void> {
  for (let generation = 1; !flood.isOver; generation++) {
    const created = flood.passing.change('empty')
    await expect(send('POST', '/collection', { name: 'passing', fields }))
    created()
    const filled = flood.passing.change(generation)
    await expect(
      send('POST', '/collection/passing/objects', {
        objects: Array.from({ length: 20 }, (_, i) => objectOf(i, generation)),
      }),
    )
    filled()
    const deleted = flood.passing.change('absent')
    await expect(send('DELETE', '/collection/passing'))
    deleted()
    flood.count('collections created and deleted')
  }
}

/** Copies of the stable collection, by clones and by backups. */
export async function copyCollections(flood: Flood, send: Send): Promise<void> {
  for (let round = 0; !flood.isOver; round++) {
    const copied = flood.copied.change('copy')
    const kind = round % 2 === 0 ? 'clones' : 'restores'
    if (kind === 'clones') await expect(send('POST', '/collection/stable/clone', { target_collection_name: 'copy' }))
    else {
      await expect(send('POST', '/collection/stable/backup', { name: 'saved' }))
      await eventually(send, '/backup/active', { active: false })
      await expect(send('POST', '/backup/saved/restore', { target_collection_name: 'copy' }))
      await expect(send('DELETE', '/backup/saved'))
    }
    copied()
    const deleted = flood.copied.change('absent')
    await expect(send('DELETE', '/collection/copy'))
    deleted()
    flood.count(kind)
  }
}

export async function rebuildGraphs(flood: Flood, send: Send): Promise<void> {
  for (let round = 0; !flood.isOver; round++) {
    const name = round % 4 >= 2 ? 'growing' : 'changing'
    const run = async (): Promise<void> => {
      if (round % 2 === 0) await expect(send('POST', `/collection/${name}/vacuum`))
      else {
        await expect(send('POST', `/collection/${name}/rebuild`, { fields: [{ field: 'v', M: 12 + (round % 5) }] }))
        await eventually(send, `/collection/${name}/rebuild/status`, { status: 'completed' })
      }
      flood.count(`${round % 2 === 0 ? 'vacuums' : 'rebuilds'}, ${name}`)
    }
    await (name === 'growing' ? withoutRebuild(flood, run) : run())
  }
}

export async function revokeTokens(flood: Flood, send: Send, _own: number, fresh: Send): Promise<void> {
  const afterwards: Promise<void>[] = []
  for (let number = 0; !flood.isOver; number++) {
    const made = await expect(send('POST', '/tokens', { name: `t${number}` }))
    const { db_token: text } = JSON.parse(made.text) as { readonly db_token: string }
    const history = new History<'valid' | 'revoked'>('valid')
    flood.tokens.push({ text, history })
    if (flood.tokens.length > 4) {
      const { history: oldest } = flood.tokens[0]!
      const revoked = oldest.change('revoked')
      await expect(send('DELETE', `/tokens/t${number - 4}`))
      revoked()
      afterwards.push(searchRevoked(flood, fresh, flood.tokens[0]!.text))
      flood.tokens.shift()
    }
    flood.count('tokens revoked')
  }
  await Promise.all(afterwards)
}

/** On a connection of its own, so on any thread. The reply to a wrong token is late, and after several of them it is 429. */
async function searchRevoked(flood: Flood, send: Send, token: string): Promise<void> {
  const { status } = await send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10), token)
  if (status !== 401 && status !== 429) flood.fault(`a revoked token: ${status}`)
}
