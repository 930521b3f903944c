// A license and the life of a collection by clicks only: activate, create, load, search, compare, back up, change, restore to a time
// between two changes, rebuild, delete.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { vendorOfLicenses } from './licenses.ts'
import { callServer, realServer } from './real-server.ts'
import { chooseFile, root, signIn, submit } from './steps.ts'

interface Described {
  readonly total_elements: number
  readonly lsn: number
}

test('clicks activate a license, then create, load, search, back up and restore a collection', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const vendor = await vendorOfLicenses(t)
  const address = await realServer(t, {
    NDD_ROOT_TOKEN: root,
    NDD_LICENSE_PUBLIC_KEY: vendor.publicKey,
    NDD_ARCHIVE_HOURS: '1',
  })
  const described = async (name: string) =>
    (await callServer(address, 'GET', `/api/v2/collection/${name}`, undefined, `root/default:${root}`)) as Described
  const seen = await openPage(await browserFor(t), address, { expectedStatus: 401 })

  await signIn(seen, root)
  await seen.follow('License')
  await chooseFile(t, seen, 'license.lic', await vendor.issue('license-of-the-tests'))
  await seen.click('Activate')
  await seen.sees('license-of-the-tests')
  await seen.follow('Collections')
  await seen.sees('No collections yet')
  await seen.follow('Create a collection')
  await seen.click('Sparse field')
  await submit(seen, { Name: 'shop', Dimension: '8' }, 'Create collection', 'Collection shop created.')
  await seen.picture('clicked-created')

  await seen.follow('Objects')
  await seen.click('Insert objects')
  await seen.click('Insert examples')
  await seen.click('Write objects')
  await seen.sees('20 objects written.')
  await seen.sees('example-20')
  t.equal((await described('shop')).total_elements, 20)

  await seen.click('Condition')
  await seen.fill('Key', 'color')
  await seen.fill('Value', 'red')
  await seen.sees('[{"color":{"$eq":"red"}}]')
  await seen.sees('7 matching objects')
  await seen.picture('clicked-filtered')

  await seen.click('example-1')
  await seen.click('Search near this')
  await seen.sees('Query plan')
  await seen.tick('terms')
  await seen.click('Compare two settings')
  await seen.fillAt('fieldset:nth-of-type(2) input[placeholder="object id"]', 'example-1')
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
  await seen.sees('worst of 20')
  await seen.click('Back up…')
  await seen.fill('Backup name', 'before')
  await seen.click('Create backup')
  await seen.click('Restore before')
  await seen.click('Cancel')

  const removeObject = async (id: string) => {
    await seen.go(`#/collections/shop/objects?id=${id}`)
    await seen.click('Delete…')
    await seen.click('Delete')
    await seen.sees(`${id} deleted.`)
  }
  await removeObject('example-3')
  const between = (await described('shop')).lsn
  await removeObject('example-4')
  t.equal((await described('shop')).total_elements, 18)

  await seen.go('#/backups')
  await seen.click('Restore before')
  await seen.click('Event')
  const then = { 'Event (LSN)': String(between), 'New collection name': 'shop_then' }
  await submit(seen, then, 'Restore', 'Restored as shop_then.')
  t.equal((await described('shop_then')).total_elements, 19, 'the state between the two deletions')

  await seen.go('#/backups')
  await seen.click('New schedule')
  await submit(seen, { 'Hours between backups': '48' }, 'Save schedule', '2 days')
  await seen.click('Change the schedule of shop')
  await submit(seen, { 'Backups to keep': '3' }, 'Save schedule', '3, each verified')
  await seen.picture('clicked-schedule')
  await seen.click('Delete the schedule of shop')
  await seen.sees('No automatic backups')
  await seen.click('Verify before')
  await seen.sees('Backup before is intact')
  await seen.click('Delete before')
  await submit(seen, { 'Type before to confirm': 'before' }, 'Delete backup', 'No backups yet')

  await seen.go('#/collections/shop')
  await seen.click('Rebuild…')
  await seen.click('Rebuild')
  await seen.sees('Rebuilt')
  await seen.click('Delete…')
  await submit(seen, { 'Type shop to confirm': 'shop' }, 'Delete collection', 'Collection shop deleted.')
  t.strictSame(seen.faults, [])
})
