#include <cuda/barrier>

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ alignas(16) float tile[TILE_WIDTH][TILE_WIDTH];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int t = threadIdx.x, firstRow = blockIdx.x * TILE_WIDTH;
    if (t == 0) init(&bar, TILE_WIDTH);
    __syncthreads();
    float sum = 0.0f;
    for (int c0 = 0; c0 < Width; c0 += TILE_WIDTH) {
        // each thread copies the row of its neighbour
        int row = t ^ 1;
        cuda::memcpy_async(tile[row], M + (firstRow + row) * Width + c0, cuda::aligned_size_t<16>(4 * TILE_WIDTH), bar);
        bar.arrive_and_wait();
        for (int c = 0; c < TILE_WIDTH; ++c) sum += tile[t][c];
    }
    Sums[firstRow + t] = sum;
}
