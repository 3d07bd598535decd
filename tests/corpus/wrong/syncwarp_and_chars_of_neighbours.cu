//!tilelab block=(32,4) grid=(ceil(Width/4))
__device__ signed char used[64][4][32];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int lane = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
    signed char* mine = used[blockIdx.x][threadIdx.y];
    __syncwarp();
    if (row >= Width) return;
    for (int col = lane; col < Width; col += 32) P[row * Width + col] = 0;
    for (int k0 = 0; k0 < Width; k0 += 32) {
        mine[lane] = k0 + lane < Width && M[row * Width + k0 + lane] != 0;
        for (int k = 0; k < 32; ++k)
            if (mine[k])
                for (int col = lane; col < Width; col += 32)
                    P[row * Width + col] += M[row * Width + k0 + k] * N[(k0 + k) * Width + col];
        __syncthreads();
    }
}
