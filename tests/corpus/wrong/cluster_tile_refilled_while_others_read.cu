#include <cooperative_groups.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(Width/(2*TILE_WIDTH)), ceil(Width/TILE_WIDTH))
__global__ void __cluster_dims__(2) MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH], Nds[2][TILE_WIDTH][TILE_WIDTH];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int first = 0; first < Width; first += 2 * TILE_WIDTH) {
        int k = first + rank * TILE_WIDTH + tx;
        Mds[ty][tx] = row < Width && k < Width ? M[row * Width + k] : 0.0f;
        for (int part = 0; part < 2; ++part) {
            int r = first + part * TILE_WIDTH + ty;
            Nds[part][ty][tx] = r < Width && col < Width ? N[r * Width + col] : 0.0f;
        }
        cluster.sync();
        for (int part = 0; part < 2; ++part) {
            float* tile = cluster.map_shared_rank(&Mds[0][0], part);
            for (int i = 0; i < TILE_WIDTH; ++i) sum += tile[ty * TILE_WIDTH + i] * Nds[part][i][tx];
        }
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
