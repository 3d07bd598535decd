//!tilelab block=(8,8,4) grid=(ceil(Width/8), ceil(Width/8))
#define PARTS 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float part[PARTS][8][8];
    int tx = threadIdx.x, ty = threadIdx.y, tz = threadIdx.z;
    int col = blockIdx.x * 8 + tx;
    int row = blockIdx.y * 8 + ty;
    bool inside = row < Width && col < Width;

    float mine = 0.0f;
    if (inside)
        for (int k = tz; k < Width; k += PARTS) mine += M[row * Width + k] * N[k * Width + col];
    part[tz][ty][tx] = mine;
    __syncthreads();

    if (tz == 0 && inside)
        P[row * Width + col] = part[0][ty][tx] + part[1][ty][tx] + part[2][ty][tx] + part[3][ty][tx];
}
