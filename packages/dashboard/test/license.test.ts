// Activating a license from text and from a file: a forged license is refused and changes nothing, a valid one takes effect at once.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { vendorOfLicenses } from './licenses.ts'
import { realServer } from './real-server.ts'
import { chooseFile, root, signIn, submit } from './steps.ts'

test('a license is pasted or chosen as a file, and a license of another vendor is refused', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const [vendor, another] = [await vendorOfLicenses(t), await vendorOfLicenses(t)]
  const address = await realServer(t, { NDD_ROOT_TOKEN: root, NDD_LICENSE_PUBLIC_KEY: vendor.publicKey })
  const seen = await openPage(await browserFor(t), address, { expectedStatus: [400, 401] })
  await signIn(seen, root)
  await seen.sees('No active license')
  await seen.follow('License')
  const contents = 'Contents of license.lic'
  await submit(seen, { [contents]: await another.issue('forged') }, 'Activate', 'license_invalid')
  await seen.picture('license-forged')
  t.strictSame(await seen.barriers(), [])
  await submit(seen, { [contents]: await vendor.issue('pasted') }, 'Activate', 'pasted')
  await seen.sees('enterprise')
  t.notMatch(await seen.page.$eval('body', (body) => body.textContent), 'No active license')

  await chooseFile(t, seen, 'license.lic', await vendor.issue('chosen'))
  await seen.page.waitForFunction(() => (document.querySelector('textarea')?.value ?? '') !== '')
  await seen.click('Activate')
  await seen.sees('chosen')
  await seen.picture('license-chosen')
  t.strictSame(seen.faults, [])
})
