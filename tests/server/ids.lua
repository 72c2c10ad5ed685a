-- SPDX-License-Identifier: MIT
--
-- For wrk: writes the id of every response to IDS.<thread>, a line each, or what came instead.
-- PIPELINE requests go out at once. With LAYOUT lists are asked for, of one id of that layout each.
local layout = os.getenv("LAYOUT")
local files = 0

function setup(thread)
  thread:set("number", files)
  files = files + 1
end

function init()
  out = io.open(os.getenv("IDS") .. "." .. number, "w")
  local requests = {}
  local target = layout and "/ids?layout=" .. layout or "/"
  for i = 1, tonumber(os.getenv("PIPELINE")) do requests[i] = wrk.format("GET", target) end
  batch = table.concat(requests)
end

function request() return batch end

function response(status, headers, body)
  local id = headers["X-Request-Id"]
  if layout then id = string.match(body, "^(%S+)\n$") end
  if status ~= 200 or not layout and body ~= "hello\n" or not id then id = "status " .. status .. ", " .. body end
  out:write(id, "\n")
end

-- What wrk counted, for the test to compare.
function done(summary, latency, requests)
  local errors = summary.errors
  print("responses " .. summary.requests)
  print("errors " .. errors.connect + errors.read + errors.write + errors.status + errors.timeout)
end
