// What a build knows of its vendor: the public half of the key that its licenses are signed with, from ANNAL_VENDOR_KEY.
import { isPublicKey } from './src/license/license-file.ts'

/** For esbuild; without a key nothing is put in. Throws for what is no key, so that no build is made with a wrong one. */
export function vendorDefines({ ANNAL_VENDOR_KEY: key = '' }: NodeJS.ProcessEnv): Record<string, string> {
  if (key === '') return {}
  if (isPublicKey(key)) return { ANNAL_VENDOR_KEY: JSON.stringify(key) }
  throw new Error('ANNAL_VENDOR_KEY must be 32 bytes in base64url, as `annal license keys` prints them')
}
