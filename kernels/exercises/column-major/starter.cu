// Matrix multiplication, P = M * N, for a column-major N. M and P are row-major.
//
// This kernel is for three row-major matrices, so one index is incorrect here. Which one, and what should it be?
// Before you run it: two neighbouring threads read N. How far apart are their elements in one iteration?
//
// Check it with:  tilelab grade starter.cu --exercise column-major

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;

    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row * Width + k] * N[k * Width + Col];
        }
        P[Row * Width + Col] = Pvalue;
    }
}
