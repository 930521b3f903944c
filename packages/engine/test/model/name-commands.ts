// Aliases, branches, and promotion.
import fc from 'fast-check'
import { name, pick, picked } from './arbitraries.ts'
import { type Command, check, codeOf, command } from './command.ts'
import { settle } from './expiry-commands.ts'
import { Life, type Model } from './lives.ts'

/** Names of aliases; two are also names of collections. */
const alias = fc.constantFrom('c', 'p', 'q')
const anyName = fc.constantFrom('a', 'b', 'c', 'p', 'q')

function putAlias(wanted: string, target: string): Command {
  return command(`alias ${wanted} to ${target}`, async (model, { engine }) => {
    const life = model.get(target)
    const expected = model.has(wanted)
      ? 'collection_exists'
      : life
        ? 'none'
        : model.aliases.has(target)
          ? 'invalid_argument'
          : 'collection_not_found'
    const putting = engine.database().putAlias(wanted, target, { actor: model.actor() })
    check((await codeOf(putting)) === expected, `put alias answered ${await codeOf(putting)}, expected ${expected}`)
    if (expected !== 'none' || !life) return
    model.aliases.set(wanted, life)
    model.record({ lsn: (await putting).lsn, kind: 'alias-put', collection: target })
  })
}

function deleteAlias(wanted: string): Command {
  return command(`delete alias ${wanted}`, async (model, { engine }) => {
    const life = model.aliases.get(wanted)
    const deleting = engine.database().deleteAlias(wanted)
    check((await codeOf(deleting)) === (life ? 'none' : 'alias_not_found'), `${await codeOf(deleting)}`)
    if (!life) return
    model.aliases.delete(wanted)
    model.record({ lsn: (await deleting).lsn, kind: 'alias-dropped', collection: model.nameOf(life) })
  })
}

function listAliases(): Command {
  return command('list aliases', async (model, { engine }) => {
    const found = engine
      .database()
      .aliases()
      .map((one) => `${one.name} ${one.collection}`)
      .sort()
    const expected = [...model.aliases].map(([key, life]) => `${key} ${model.nameOf(life)}`).sort()
    check(`${found}` === `${expected}`, `aliases ${found}, expected ${expected}`)
  })
}

function promote(wanted: string, over: string, keepAs: string): Command {
  return command(`promote ${wanted} over ${over}, kept as ${keepAs}`, async (model, { engine }) => {
    const expected = promotionCode(model, wanted, over, keepAs)
    const promoting = engine.database().promote(wanted, { over, keepAs }, { actor: model.actor() })
    check((await codeOf(promoting)) === expected, `promote answered ${await codeOf(promoting)}, expected ${expected}`)
    if (expected !== 'none') return
    const [promoted, replaced] = [model.resolve(wanted) as Life, model.get(over) as Life]
    model.delete(model.nameOf(promoted))
    model.set(over, promoted)
    model.set(keepAs, replaced)
    for (const key of model.aliasesOf(replaced)) model.aliases.set(key, promoted)
    model.record({ lsn: (await promoting).lsn, kind: 'collection-promoted', collection: over })
  })
}

function promotionCode(model: Model, wanted: string, over: string, keepAs: string): string {
  const [promoted, replaced] = [model.resolve(wanted), model.get(over)]
  if (!promoted) return 'collection_not_found'
  if (!replaced) return model.aliases.has(over) ? 'invalid_argument' : 'collection_not_found'
  if (promoted === replaced) return 'invalid_argument'
  if (keepAs === model.nameOf(promoted)) return 'none'
  if (model.has(keepAs)) return 'collection_exists'
  return model.aliases.has(keepAs) ? 'alias_exists' : 'none'
}

/** `place` chooses the moment; undefined for now. */
function branch(source: string, target: string, place: number | undefined): Command {
  const when = place === undefined ? '' : ' as of a moment'
  return command(`branch ${target} of ${source}${when}`, async (model, real) => {
    const { engine } = real
    const life = model.resolve(source)
    const expected = new Set<string>()
    if (!life) expected.add('collection_not_found')
    if (model.has(target)) expected.add('collection_exists')
    else if (model.aliases.has(target)) expected.add('alias_exists')
    const moments = model.records.filter(({ lsn }) => life && lsn >= life.lsnCreated)
    const lsn = place === undefined ? undefined : picked(moments, place)?.lsn
    const request = { name: target, ...(lsn !== undefined && { asOf: { lsn } }) }
    const branching = engine.database().branch(source, request, { actor: model.actor() })
    const code = await codeOf(branching)
    check(expected.size === 0 ? code === 'none' : expected.has(code), `branch answered ${code}`)
    if (code !== 'none' || !life) return
    const { lsn: lsnCreated, contentLsn } = await branching
    check(contentLsn <= (lsn ?? lsnCreated), `the branch has content of LSN ${contentLsn}`)
    await engine.database().collection(target).served()
    model.set(target, new Life(life, lsnCreated, { parent: { life, lsn: contentLsn } }))
    const [last] = engine.database().branches(target).slice(-1)
    check(last?.name === target && last.parentLsn === contentLsn, 'the branch is the last of its tree')
    model.record({ lsn: lsnCreated, kind: 'collection-restored', collection: target })
    await settle(model, real)
  })
}

/** Everything with a common ancestor, also through collections that were deleted. */
function listBranches(target: string): Command {
  return command(`branches of ${target}`, async (model, { engine }) => {
    const life = model.resolve(target)
    if (!life) return
    const found = engine
      .database()
      .branches(target)
      .filter(({ deletedAt }) => deletedAt === undefined)
    const names = found.map((one) => `${one.name} ${one.parentLsn ?? 0} ${one.objects}`).sort()
    const family = [...model].filter(([, one]) => rootOf(one) === rootOf(life))
    const expected = family.map(([key, one]) => `${key} ${one.parent?.lsn ?? 0} ${one.objects.size}`).sort()
    check(`${names}` === `${expected}`, `branches ${names}, expected ${expected}`)
  })
}

function rootOf(life: Life): Life {
  return life.parent ? rootOf(life.parent.life) : life
}

export const nameCommands: fc.Arbitrary<Command>[] = [
  ...Array.from({ length: 2 }, () => fc.tuple(alias, name).map((args) => putAlias(...args))),
  alias.map(deleteAlias),
  fc.constant(listAliases()),
  fc.tuple(name, name, anyName).map((args) => promote(...args)),
  ...Array.from({ length: 2 }, () =>
    fc.tuple(name, name, fc.option(pick, { nil: undefined })).map((args) => branch(...args)),
  ),
  name.map(listBranches),
]
