// The connection to a server with the S3 API. The endpoint and credentials come from the standard variables of S3 programs
// (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID ...).
import { S3Client } from '@aws-sdk/client-s3'

const connectTimeoutMs = 10_000
const replyTimeoutMsDefault = 120_000

/** Opens a client. A request that gets no reply for `replyTimeoutMs` fails. */
export function openS3Client({ replyTimeoutMs = replyTimeoutMsDefault, attempts = 3 } = {}): S3Client {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION } = process.env
  return new S3Client({
    region: AWS_REGION ?? AWS_DEFAULT_REGION ?? 'us-east-1',
    // Virtual-hosted bucket names work only on AWS itself.
    forcePathStyle: (AWS_ENDPOINT_URL_S3 ?? AWS_ENDPOINT_URL) !== undefined,
    // What is stored has its own checksums, and some S3 servers do not support the newer checksum headers.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: replyTimeoutMs,
      // Otherwise the time only causes a warning.
      throwOnRequestTimeout: true,
    },
  })
}
