package labs

// valueSentences are those of the labs heap, backends and ttl.
var valueSentences = map[string]Text{
	"evidence.writtenTooSoon": {"The snapshot was written in %.0[1]f ms: lower the snapshot speed.", "快照 %.0[1]f 毫秒就写完了：请调低快照写出速度。"},
	"evidence.syncAsync":      {"Checkpoint %[1]d: %.2[2]f ms sync, %.0[3]f ms async.", "检查点 %[1]d：同步 %.2[2]f 毫秒，异步 %.0[3]f 毫秒。"},
	"evidence.noCopies":       {"No entry has been copied yet: it takes a snapshot that is open for a while.", "还没有条目被复制：需要一个打开一段时间的快照。"},
	"evidence.copiedByWrites": {"%[1]d entries copied because they were written.", "因写入复制了 %[1]d 个条目。"},
	"evidence.copiedByReads":  {"%[1]d entries copied with their value because they were read.", "因读取连同值复制了 %[1]d 个条目。"},
	"evidence.stillHeld":      {"A snapshot is open; %[1]d old entries are held.", "有快照打开着，保留了 %[1]d 个旧条目。"},
	"evidence.givenBack":      {"At most %[1]d old entries were held at once; now %[2]d.", "同时最多保留过 %[1]d 个旧条目，现在 %[2]d 个。"},
	"evidence.compressed":     {"Compressed: switch compression off to compare sizes.", "已压缩：请关闭压缩再比较大小。"},
	"evidence.twoCheckpoints": {"Needs two checkpoints of the whole state.", "需要两次完整状态的检查点。"},
	"evidence.fullSize":       {"Checkpoint %[1]d wrote %[2]d bytes, %[3]d wrote %[4]d, of %[5]d in state.", "检查点 %[1]d 写了 %[2]d 字节，%[3]d 写了 %[4]d 字节，状态共 %[5]d 字节。"},

	"evidence.noneExpired":   {"No value has expired yet.", "还没有值过期。"},
	"evidence.neverReturned": {"Reads found %[1]d values expired; %[2]d given all the same.", "读取碰到 %[1]d 个过期的值，其中返回了 %[2]d 个。"},
	"evidence.stillStored":   {"%[1]d expired and still stored beside %[2]d live ones, %[3]d bytes in all.", "%[1]d 个已过期但还存着，另有 %[2]d 个活着，共 %[3]d 字节。"},
	"evidence.droppedAtRead": {"Reads dropped %[1]d values; %[2]d counts were begun.", "读取删掉了 %[1]d 个值；新开始的计数 %[2]d 个。"},
	"evidence.cleanUp":       {"Raise the cleanup on hashmap, or compact lsm.", "请在 hashmap 上调高清理数，或在 lsm 上执行合并。"},
	"evidence.droppedBehind": {"%[1]d values dropped that nobody read; %[2]d bytes are left.", "删掉了 %[1]d 个没人读的值，还剩 %[2]d 字节。"},
	"evidence.ttlUpdate":     {"Set what renews to %[1]s.", "请把续期方式设为 %[1]s。"},
	"evidence.readOnlyShare": {"Needs keys that are only read.", "需要有只读的键。"},
	"evidence.oldestRead":    {"Oldest value read lately: written %[1]d ms before; time to live %[2]d ms.", "最近读到的最旧的值写于 %[1]d 毫秒前；存活时间 %[2]d 毫秒。"},

	"evidence.bothBackends":  {"Run on hashmap and on lsm, incremental, for two checkpoints each.", "请在 hashmap 和 lsm（增量）上各跑两次检查点。"},
	"evidence.backendSize":   {"hashmap writes %[1]d bytes a checkpoint, lsm %[2]d.", "每次检查点 hashmap 写 %[1]d 字节，lsm 写 %[2]d 字节。"},
	"evidence.bothStorages":  {"Run one backend with both storages, two checkpoints each.", "请让同一个后端用两种存储各跑两次检查点。"},
	"evidence.storagePlace":  {"%[1]s: %[2]d bytes in files, %[3]d in memory.", "%[1]s：文件 %[2]d 字节，内存 %[3]d 字节。"},
	"evidence.inPlaceOn":     {"Switch on: change in place.", "请打开原地修改。"},
	"evidence.chooseBackend": {"Choose the backend %[1]s.", "请选择 %[1]s 后端。"},
	"evidence.inPlace":       {"Of %[1]d changes looked at, the next read saw %[2]d.", "抽查的 %[1]d 次修改中，下一次读取看到了 %[2]d 次。"},
	"evidence.touch":         {"Press: read outside a record.", "请按“在记录之外读取”。"},
	"evidence.touched":       {"%[1]s", "%[1]s"},
}
