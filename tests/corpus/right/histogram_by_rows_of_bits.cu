// Counts with binary tensor cores: A has a row of bits for each bin, and B is full of ones.
__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    int lane = threadIdx.x % 32;
    int warp = blockIdx.x * (BLOCK_SIZE / 32) + threadIdx.x / 32, warps = gridDim.x * (BLOCK_SIZE / 32);
    for (int start = warp * 128; start < n; start += warps * 128)
        for (int bin0 = 0; bin0 < bins; bin0 += 8) {
            // this thread's 32 bits: the row is lane / 4, and the columns begin at 32 * (lane % 4)
            unsigned bits = 0, ones = ~0u;
            for (int part = 0; part < 4; ++part) {
                int i = start + 32 * part + lane, value = i < n ? values[i] : -1;
                for (int bin = 0; bin < 8; ++bin) {
                    unsigned vote = __ballot_sync(~0u, value == bin0 + bin);
                    if (lane == 4 * bin + part) bits = vote;
                }
            }
            int c0 = 0, c1 = 0;
            asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+r"(c0), "+r"(c1) : "r"(bits), "r"(ones));
            if (lane % 4 == 0 && bin0 + lane / 4 < bins && c0) atomicAdd(&counts[bin0 + lane / 4], (unsigned)c0);
        }
}
