// Two output tiles take turns. A tile is filled again when all but the last group have read theirs.
__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float out[2][4];
    int t = threadIdx.x;
    for (int r = 0; r < TILE_WIDTH; r += 4) {
        int buffer = r / 4 % 2;
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        __syncthreads();
        int row = blockIdx.x * TILE_WIDTH + r + t;
        if (t < 4) {
            float sum = 0.0f;
            for (int c = 0; c < Width; ++c) sum += M[row * Width + c];
            out[buffer][t] = sum;
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncthreads();
        if (t == 0) {
            unsigned from = (unsigned)__cvta_generic_to_shared(out[buffer]);
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\n"
                         "cp.async.bulk.commit_group;" :: "l"(Sums + row), "r"(from) : "memory");
        }
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
