-- Requests for wrk: `wrk -s requests.lua URL -- KIND LICENCES`, with random licences, identifiers and client addresses.
-- Keys and identifiers derive from the licence's number, as in data.ts.

local prefix = "/api/index.php/v1/licensing"
local random, format, floor = math.random, string.format, math.floor

local function key(i) return format("BE9C0000-00000000-00000000-%08X", i) end
-- Each licence has one to three of these sites activated.
local function site(i) return format("site-%08x-%d.example.com", i, random(3)) end

local function forwarded()
  return format("Host: shop.example\r\nX-Forwarded-For: 10.%d.%d.%d\r\n", random(0, 255), random(0, 255), random(254))
end

-- A site of a licence has an address of its own, in the same network as the licence's other sites.
local function told(i)
  local from = format("10.%d.%d.%d", floor(i / 256) % 256, i % 256, random(3))
  local site = format("X-Licensing-Site: %s\r\nX-Licensing-Version: 2.0.0\r\n", site(i))
  return format("Host: shop.example\r\nX-Forwarded-For: %s\r\n%s", from, site)
end

-- As it is pasted from a mail, with a key of this service's shape in it.
local function pasted(i) return format("Thank you for your order. Your licence key: %s (keep it)", key(i)) end

local function get(path) return "GET " .. path .. " HTTP/1.1\r\n" .. forwarded() .. "\r\n" end

local function post(path, i, identifier, written)
  local body = format('{"license_key":"%s","identifier":"%s"}', written or key(i), identifier)
  return format(
    "POST %s/licenses/%s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
    prefix, path, forwarded(), #body, body
  )
end

local function signed(i, nonce)
  local body = format('{"license_key":"%s","identifier":"site-%08x-1.example.com","signed":true%s}', key(i), i, nonce)
  return format(
    "POST %s/licenses/validate HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
    prefix, forwarded(), #body, body
  )
end

local run, count, licences = nil, 0, 1

local kinds = {
  ["validate"] = function()
    local i = random(licences)
    return post("validate", i, site(i))
  end,
  ["validate-unknown"] = function() return post("validate", 0x10000000 + random(licences), "unknown.example.com") end,
  ["validate-unknown-pasted"] = function()
    local i = 0x10000000 + random(licences)
    return post("validate", i, "unknown.example.com", pasted(i))
  end,
  ["validate-unknown-imported"] = function()
    local i = random(licences)
    return post("validate", i, "unknown.example.com", format("ACME-%08d-PRO", i))
  end,
  ["validate-signed"] = function() return signed(random(licences), "") end,
  ["validate-signed-first"] = function()
    count = count + 1
    return signed(random(licences), format(',"nonce":"%s-%08x"', run, count))
  end,
  ["validate-tenth-signed"] = function()
    local i = random(licences)
    if random(10) == 1 then return signed(i, "") end
    return post("validate", i, site(i))
  end,
  ["validate-one"] = function() return post("validate", 1, site(1)) end,
  ["activate-again"] = function()
    local i = random(licences)
    return post("activate", i, format("site-%08x-1.example.com", i))
  end,
  ["activate-new"] = function()
    count = count + 1
    return post("activate", random(licences), format("new-%s-%08x.example.com", run, count))
  end,
  ["updates"] = function() return get(prefix .. "/updates/42") end,
  ["download"] = function() return get(prefix .. "/downloads/42?version=2.1.0&dlid=" .. key(random(licences))) end,
  ["download-told"] = function()
    local i = random(licences)
    return format("GET %s/downloads/42?version=2.1.0&dlid=%s HTTP/1.1\r\n%s\r\n", prefix, key(i), told(i))
  end,
  ["download-large"] = function()
    return get(prefix .. "/downloads/42?version=1.0.0&dlid=" .. key(random(licences)))
  end,
}

function init(args)
  -- A new table's address makes the seed differ even between runs in the same second.
  local seed = os.time() + tonumber(tostring({}):match("0x(%x+)"), 16) % 1000003
  math.randomseed(seed)
  run = format("%08x", seed % 0x100000000)
  licences = tonumber(args[2] or 1)
  -- An unknown kind is a file's path.
  request = kinds[args[1]] or function() return get(args[1]) end
end

function request() end

function done(summary, latency)
  local errors = summary.errors
  io.write(format(
    '{"requests":%d,"seconds":%f,"bytes":%d,"failed":%d,"refused":%d,"p50":%f,"p99":%f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3
  ))
end
