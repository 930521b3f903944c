// A collection's life by clicking only: created, loaded, searched, compared, backed up, changed, restored, rebuilt, deleted.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { ask, realServer } from './real-server.ts'

interface Described {
  readonly total_elements: number
}

test('a collection is created, loaded, searched, backed up and restored, by clicking', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  const described = async (name: string) => (await ask(address, 'GET', `/api/v2/collection/${name}`)) as Described
  const seen = await openPage(await browserFor(t), address)

  await seen.sees('No collections yet')
  await seen.follow('Create the first one')
  await seen.fill('Name', 'shop')
  await seen.fill('Dimension', '8')
  await seen.click('Sparse field')
  await seen.click('Create collection')
  await seen.sees('Collection shop created.')
  await seen.picture('clicked-created')

  await seen.follow('Objects')
  await seen.click('Insert objects')
  await seen.click('Fill with examples')
  await seen.click('Write objects')
  await seen.sees('20 objects written.')
  await seen.sees('example-20')
  t.equal((await described('shop')).total_elements, 20)

  await seen.click('Condition')
  await seen.fill('Key', 'colour')
  await seen.fill('Value', 'red')
  await seen.sees('[{"colour":{"$eq":"red"}}]')
  await seen.sees('7 matching objects')
  await seen.picture('clicked-filtered')

  await seen.click('example-1')
  await seen.click('Search near this')
  await seen.sees('How it was found')
  await seen.tick('text')
  await seen.click('Compare two settings')
  await seen.page.locator('fieldset:nth-of-type(2) input[placeholder="id of an object"]').fill('example-1')
  await seen.click('Search')
  await seen.sees('A and B share')
  await seen.sees('Fusion')
  await seen.picture('clicked-compared')
  await seen.click('As code')
  await seen.click('Python')
  await seen.picture('clicked-code')
  const code = await seen.page.$eval('dialog textarea', (area) => (area as HTMLTextAreaElement).value)
  t.match(code, 'requests.post')
  await seen.click('Close')

  await seen.follow('Overview')
  await seen.click('Measure recall')
  await seen.sees('Recall 100 %')
  await seen.click('Back up…')
  await seen.fill('Name of the backup', 'before')
  await seen.click('Make the backup')
  await seen.click('Restore before')
  await seen.click('Cancel')

  await seen.go('#/collections/shop/objects?id=example-3')
  await seen.click('Delete…')
  await seen.click('Delete it')
  await seen.sees('example-3 deleted.')
  t.equal((await described('shop')).total_elements, 19)

  await seen.go('#/backups')
  await seen.click('Restore before')
  await seen.fill('Name of the new collection', 'shop_then')
  await seen.picture('clicked-restore')
  await seen.click('Restore')
  await seen.sees('Restored as shop_then.')
  t.equal((await described('shop_then')).total_elements, 20, 'as it was before the deletion')

  await seen.go('#/backups')
  await seen.click('Verify before')
  await seen.sees('Backup before is whole')
  await seen.click('Delete before')
  await seen.fill('Type before to confirm', 'before')
  await seen.click('Delete backup')
  await seen.sees('No backups yet')

  await seen.go('#/collections/shop')
  await seen.click('Rebuild…')
  await seen.click('Rebuild')
  await seen.sees('Rebuilt')
  await seen.click('Delete…')
  await seen.fill('Type shop to confirm', 'shop')
  await seen.click('Delete collection')
  await seen.sees('Collection shop deleted.')
  t.strictSame(seen.faults, [])
})
