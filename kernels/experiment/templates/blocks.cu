// A tiled matrix product with several elements of P per thread. A block computes BY*TY rows by BX*TX columns of P. Its
// tiles are BX deep, so BX must be BY*TY. The template `blocks` tries all combinations.

#define BX 32
#define BY 8
#define TX 4
#define TY 4
//!tilelab block=(BX,BY) grid=(ceil(Width/(BX*TX)), ceil(Width/(BY*TY)))

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[BY * TY][BX];
    __shared__ float Nds[BY * TY][BX * TX];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * BY * TY + ty;
    int column = blockIdx.x * BX * TX + tx;

    float sums[TY][TX] = {};
    for (int start = 0; start < Width; start += BX) {
#pragma unroll
        for (int i = 0; i < TY; ++i) {
            int r = row + BY * i;
            int k = start + ty + BY * i;
            Mds[ty + BY * i][tx] = r < Width && start + tx < Width ? M[r * Width + start + tx] : 0.0f;
#pragma unroll
            for (int j = 0; j < TX; ++j) {
                int c = column + BX * j;
                Nds[ty + BY * i][tx + BX * j] = k < Width && c < Width ? N[k * Width + c] : 0.0f;
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BX; ++k) {
#pragma unroll
            for (int i = 0; i < TY; ++i) {
                float m = Mds[ty + BY * i][k];
#pragma unroll
                for (int j = 0; j < TX; ++j) {
                    sums[i][j] += m * Nds[k][tx + BX * j];
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TY; ++i) {
#pragma unroll
        for (int j = 0; j < TX; ++j) {
            if (row + BY * i < Width && column + BX * j < Width) {
                P[(row + BY * i) * Width + column + BX * j] = sums[i][j];
            }
        }
    }
}
