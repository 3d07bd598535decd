#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__device__ void wait_for_all() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH], Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int first = 0; first < Width; first += TILE_WIDTH) {
        Mds[ty][tx] = row < Width && first + tx < Width ? M[row * Width + first + tx] : 0.0f;
        Nds[ty][tx] = first + ty < Width && col < Width ? N[(first + ty) * Width + col] : 0.0f;
        wait_for_all();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
        wait_for_all();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
