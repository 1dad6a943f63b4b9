// Properties and statistics of the service, which Cosmos DB does not have.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TableServiceClient } from "@azure/data-tables";
import { ACCOUNT, CONNECTION_STRING, COSMOS, ENDPOINT, KEY, OPTIONS, rejected, SKIP_ON_COSMOS } from "./clients.js";

const service = TableServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS);

test("properties are set and read", SKIP_ON_COSMOS("it has no service properties"), async () => {
  const retentionPolicy = { enabled: true, days: 5 };
  await service.setProperties({
    logging: { version: "1.0", read: true, write: true, delete: false, retentionPolicy },
    hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy },
    cors: [
      {
        allowedOrigins: "https://contoso.com",
        allowedMethods: "GET,PUT",
        allowedHeaders: "x-ms-*",
        exposedHeaders: "x-ms-request-id",
        maxAgeInSeconds: 60,
      },
    ],
  });
  const properties = await service.getProperties();
  assert.deepEqual(properties.logging, { version: "1.0", read: true, write: true, delete: false, retentionPolicy });
  assert.deepEqual([properties.hourMetrics.enabled, properties.hourMetrics.includeAPIs], [true, true]);
  assert.equal(properties.cors.length, 1);
  assert.deepEqual([properties.cors[0].allowedMethods, properties.cors[0].maxAgeInSeconds], ["GET,PUT", 60]);
  // Properties that the call does not name stay.
  await service.setProperties({ cors: [] });
  assert.equal((await service.getProperties()).logging.read, true);
});

test("six CORS rules are too many", SKIP_ON_COSMOS("it has no service properties"), async () => {
  const rule = { allowedMethods: "GET", allowedHeaders: "", exposedHeaders: "", maxAgeInSeconds: 1 };
  const cors = Array.from({ length: 6 }, (_, n) => ({ ...rule, allowedOrigins: `https://${n}.contoso.com` }));
  await rejected(400, "InvalidXmlDocument", () => service.setProperties({ cors }));
});

test("Cosmos DB rejects calls about properties and statistics", { skip: !COSMOS && "Storage has them" }, async () => {
  await rejected(405, "MethodNotAllowed", () => service.getProperties());
  await rejected(405, "MethodNotAllowed", () => service.setProperties({ cors: [] }));
  await rejected(405, "MethodNotAllowed", () => service.getStatistics());
});

test("statistics come from the secondary", SKIP_ON_COSMOS("it has no statistics"), async () => {
  // This client (13.3.2) finds the secondary only by its host name, which an emulator does not have.
  const toPath = {
    name: "secondaryInPath",
    sendRequest(request, next) {
      const { host } = new URL(ENDPOINT);
      request.url = request.url.replace(/\/\/[^/]+\/[^/]+/, `//${host}/${ACCOUNT.name}-secondary`);
      return next(request);
    },
  };
  const additionalPolicies = [{ policy: toPath, position: "perRetry" }];
  const client = new TableServiceClient(ENDPOINT, KEY, { ...OPTIONS, additionalPolicies });
  const { geoReplication } = await client.getStatistics();
  assert.equal(geoReplication.status, "live");
  assert.ok(geoReplication.lastSyncTime instanceof Date);
});
